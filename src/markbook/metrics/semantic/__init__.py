"""What texts mean alike: BERTScore and the networks that it reads texts with."""
