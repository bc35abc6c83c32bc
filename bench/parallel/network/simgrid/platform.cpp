#include "bench/parallel/network/simgrid/platform.hpp"

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace convscope {
namespace {

namespace s4u = simgrid::s4u;
using Up = s4u::LinkInRoute;

constexpr double kFlops = 1e9;  // a host's, which nothing here uses

s4u::SplitDuplexLink* link(s4u::NetZone& zone, const std::string& name, const Link& of) {
  s4u::SplitDuplexLink* made = zone.create_split_duplex_link(name, of.bytes_per_second);
  made->set_latency(of.latency / 2)->seal();
  return made;
}
Up up(const s4u::SplitDuplexLink* of) {
  return Up(of, Up::Direction::UP);
}
std::string numbered(const char* what, int number) {
  return what + std::to_string(number);
}

// All ranks behind one switch.
std::vector<s4u::Host*> one_level(int count, const Link& of) {
  s4u::NetZone* zone = s4u::create_star_zone("gpus");
  std::vector<s4u::Host*> hosts;
  for (int rank = 0; rank < count; ++rank) {
    hosts.push_back(zone->create_host(numbered("gpu-", rank), kFlops));
    zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr,
                    {up(link(*zone, numbered("link-", rank), of))});
  }
  zone->seal();
  return hosts;
}

// The ranks of one node, whose way out is by their other link to `gateway`.
std::vector<s4u::Host*> add_node(s4u::NetZone& node, int first, int end,
                                 simgrid::kernel::routing::NetPoint* gateway, const Links& links) {
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::SplitDuplexLink*> within;
  for (int rank = first; rank < end; ++rank) {
    hosts.push_back(node.create_host(numbered("gpu-", rank), kFlops));
    simgrid::kernel::routing::NetPoint* here = hosts.back()->get_netpoint();
    within.push_back(link(node, numbered("within-", rank), links.within));
    node.add_route(here, gateway, nullptr, nullptr,
                   {up(link(node, numbered("between-", rank), links.between))});
    for (size_t i = 0; i + 1 < hosts.size(); ++i)
      node.add_route(here, hosts[i]->get_netpoint(), nullptr, nullptr,
                     {up(within.back()), Up(within[i], Up::Direction::DOWN)});
  }
  return hosts;
}

// Digits as numbers, all else as text.
bool natural_less(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

}  // namespace

std::vector<s4u::Host*> build_platform(const Ranks& ranks, const Links& links) {
  if (ranks.per_node == 1) return one_level(ranks.count, links.between);
  if (ranks.count <= ranks.per_node) return one_level(ranks.count, links.within);
  s4u::NetZone* all = s4u::create_star_zone("nodes");
  // A route has at least one link; this one slows no message down.
  const s4u::Link* backbone = all->create_link("backbone", links.between.bytes_per_second)
                                  ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
                                  ->set_latency(0)
                                  ->seal();
  std::vector<s4u::Host*> hosts;
  for (int first = 0; first < ranks.count; first += ranks.per_node) {
    s4u::NetZone* node = s4u::create_full_zone(numbered("node-", first));
    node->set_parent(all);
    simgrid::kernel::routing::NetPoint* gateway = node->create_router(numbered("gateway-", first));
    for (s4u::Host* host :
         add_node(*node, first, std::min(ranks.count, first + ranks.per_node), gateway, links))
      hosts.push_back(host);
    node->seal();
    all->add_route(node->get_netpoint(), nullptr, gateway, nullptr, {Up(backbone)});
  }
  all->seal();
  return hosts;
}

std::vector<s4u::Host*> load_platform(s4u::Engine& engine, const std::string& file) {
  engine.load_platform(file);
  for (const s4u::Link* one : engine.get_all_links())
    if (!(one->get_bandwidth() > 0))  // which SimGrid would take for one without a limit
      throw std::invalid_argument("the link '" + one->get_name() + "' has no bandwidth");
  std::vector<s4u::Host*> hosts = engine.get_all_hosts();
  std::ranges::sort(hosts, [](const s4u::Host* a, const s4u::Host* b) {
    return natural_less(a->get_name(), b->get_name());
  });
  return hosts;
}

}  // namespace convscope
