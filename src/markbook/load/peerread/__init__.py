"""PeerRead's layout: papers with their reviews, and generated reviews of them."""
