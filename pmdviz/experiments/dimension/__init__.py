"""What dimension does: the error of every method against d, on posteriors whose answer is known in any dimension."""
