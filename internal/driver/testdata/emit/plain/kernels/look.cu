// look_forward looks an element up.
__device__ void look_forward(const look::forward &a, long long i) {
	a.output.set(i, a.table.as<double>()[a.index.at(i) % a.table.count<double>()]);
}
