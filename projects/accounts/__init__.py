"""Signing in, passwords, and a user's own account.

`signing_in` asks for a second factor; of whom one is required, `projects.access.must_set_up_second_factor` says. Which
account an identity of the provider opens is in `single_sign_on`, and which of its tokens are believed in `oidc`.
"""
