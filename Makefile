# The commands of ./dev, for those who expect a Makefile: `make soak` is `./dev soak`.
.PHONY: demo test check docs bench fuzz soak proof
demo test check docs bench fuzz soak proof:
	./dev $@ $(ARGS)
