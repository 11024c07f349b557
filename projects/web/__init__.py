"""What pages share: lists, links, previews, refusals, uploads, forms that are kept, requests to other sites."""
