"""What a submission may say at all."""
