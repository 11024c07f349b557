"""What pages share: lists, links, uploads, problems."""
