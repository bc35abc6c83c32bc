#include "bench/verify/device_reference.hpp"

#include "bench/device/buffer.hpp"
#include "bench/verify/tensor_data.hpp"

namespace convscope {

void enqueue_reference(const ConvProblem& problem, const ReferenceArgs& args, Device& device, Queue& queue) {
  CONVSCOPE_BUILDS(enqueue_reference).of(device.info().kind)(problem, args, queue);
}

ReferenceOutputs reference_outputs(const ConvProblem& problem,
                                   const std::array<std::vector<float>, 3>& tensors, Device& device) {
  std::array<Buffer, 3> on_device;
  for (Role role : read_roles(problem.pass)) {
    const std::vector<float>& values = tensors[static_cast<size_t>(role)];
    Buffer& buffer = on_device[static_cast<size_t>(role)];
    buffer = Buffer(device, values.size() * sizeof(float));
    buffer.upload(values.data(), buffer.bytes());
  }
  const auto count = static_cast<size_t>(problem.elements(written_role(problem.pass)));
  const Buffer values(device, count * sizeof(float)), magnitudes(device, count * sizeof(float));
  const auto queue = device.make_queue();
  enqueue_reference(problem,
                    {on_device[0].as<float>(), on_device[1].as<float>(), on_device[2].as<float>(),
                     values.as<float>(), magnitudes.as<float>()},
                    device, *queue);
  queue->synchronize();
  ReferenceOutputs outputs{std::vector<float>(count), std::vector<float>(count)};
  values.download(outputs.values.data(), values.bytes());
  magnitudes.download(outputs.magnitudes.data(), magnitudes.bytes());
  return outputs;
}

}  // namespace convscope
