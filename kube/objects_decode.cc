// The decoders of the core kinds in kube/objects.h. One small function for each sub-object; members in the order of how
// often they come.
#include "kube/objects_decode.h"
#include "kube/objects.h"
#include "model/quantity.h"

namespace tidemark::kube {
namespace {

using Type = base::JsonReader::Type;

std::int64_t amount_of(std::string_view resource, const model::Quantity& quantity) {
  return resource == "cpu" ? model::cpu_milli(quantity).value : quantity.scaled_value_saturated(0);
}

// The texts that agents and kubelets write, and nearly all others: a few digits, alone, or of bytes and with a binary
// suffix, or of processors and with "m". Everything else is a Quantity.
std::optional<std::int64_t> plain_amount(std::string_view text, bool cpu) {
  constexpr std::size_t kDigitsMax = 12;  // of Mi they are less than 2^63
  std::int64_t number = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == kDigitsMax) return std::nullopt;
    number = number * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  const std::string_view suffix = text.substr(digits);
  if (suffix.empty()) return cpu ? number * 1000 : number;
  if (cpu) return suffix == "m" ? std::optional(number) : std::nullopt;
  if (suffix == "Ki") return number << 10;
  if (suffix == "Mi") return number << 20;
  return std::nullopt;
}

void read_owners(Decoder& decoder, ObjectMeta& meta) {
  meta.owner_kind = {};
  meta.owner_name = {};
  bool controlled = false;
  decoder.array([&] {
    Text kind;
    Text name;
    bool controller = false;
    decoder.object([&](std::string_view key) {
      if (key == "kind") {
        decoder.interned(kind);
      } else if (key == "name") {
        decoder.interned(name);
      } else if (key == "controller") {
        decoder.boolean(controller);
      } else {
        decoder.skip();
      }
    });
    if (meta.owner_kind.empty() || (controller && !controlled)) {
      meta.owner_kind = kind;
      meta.owner_name = name;
      controlled = controlled || controller;
    }
  });
}

// ---- Pod ----

void read_pod_level(Decoder& decoder, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "requests") {
      read_resources(decoder, pod.pod_requests);
    } else if (key == "limits") {
      read_resources(decoder, pod.pod_limits);
    } else {
      decoder.skip();
    }
  });
}

void read_pod_spec(Decoder& decoder, const PodFields& fields, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "nodeName") {
      decoder.interned(pod.node_name);
    } else if (key == "schedulerName") {
      decoder.interned(pod.scheduler_name);
    } else if (key == "priority") {
      decoder.optional(pod.priority);
    } else if (key == "hostNetwork") {
      decoder.boolean(pod.host_network);
    } else if (!fields.resources) {
      decoder.skip();
    } else if (key == "containers") {
      read_vector(decoder, pod.containers, [&](Container& container) { read_container(decoder, container); });
    } else if (key == "initContainers") {
      read_vector(decoder, pod.init_containers, [&](Container& container) { read_container(decoder, container); });
    } else if (key == "overhead") {
      read_resources(decoder, pod.overhead);
    } else if (key == "resources") {
      read_pod_level(decoder, pod);
    } else {
      decoder.skip();
    }
  });
}

void read_container_statuses(Decoder& decoder, bool init, Pod& pod) {
  decoder.array([&] {
    ContainerStatus status;
    status.init = init;
    decoder.object([&](std::string_view key) {
      if (key == "name") {
        decoder.interned(status.name);
      } else if (key == "ready") {
        decoder.boolean(status.ready);
      } else if (key == "started") {
        decoder.boolean(status.started);
      } else if (key == "restartCount") {
        decoder.integer32(status.restarts);
      } else {
        decoder.skip();
      }
    });
    pod.statuses.push_back(std::move(status));
  });
}

void read_pod_conditions(Decoder& decoder, Pod& pod) {
  decoder.array([&] {
    bool is_ready = false;
    Truth status = Truth::kUnknown;
    decoder.object([&](std::string_view key) {
      if (key == "type") {
        std::string_view type;
        decoder.view(type);
        is_ready = type == "Ready";
      } else if (key == "status") {
        read_truth(decoder, status);
      } else {
        decoder.skip();
      }
    });
    if (is_ready) pod.ready = status;
  });
}

void read_pod_status(Decoder& decoder, const PodFields& fields, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "phase") {
      std::string_view phase;
      decoder.view(phase);
      pod.phase = model::parse_pod_phase(phase);
    } else if (key == "qosClass") {
      std::string_view qos;
      decoder.view(qos);
      pod.qos = model::parse_kube_qos(qos);
    } else if (key == "startTime") {
      decoder.time(pod.started);
    } else if (key == "conditions") {
      read_pod_conditions(decoder, pod);
    } else if (key == "containerStatuses" && fields.statuses) {
      read_container_statuses(decoder, false, pod);
    } else if (key == "initContainerStatuses" && fields.statuses) {
      read_container_statuses(decoder, true, pod);
    } else {
      decoder.skip();
    }
  });
  pod.statuses.shrink_to_fit();
}

// ---- Node ----

void read_node_condition(Decoder& decoder, const KeyFilter& messages, NodeCondition& condition) {
  decoder.object([&](std::string_view key) {
    if (key == "type") {
      decoder.interned(condition.type);
    } else if (key == "status") {
      read_truth(decoder, condition.status);
    } else if (key == "reason") {
      decoder.interned(condition.reason);
    } else if (key == "message" && !messages.keeps_none()) {
      std::string_view message;
      decoder.view(message);
      if (condition.type.empty() || messages.keeps(condition.type)) condition.message = Text::plain(message);
    } else if (key == "lastTransitionTime") {
      decoder.time(condition.changed);
    } else {
      decoder.skip();
    }
  });
  if (!messages.keeps(condition.type)) condition.message = Text();
}

void read_taint(Decoder& decoder, Taint& taint) {
  decoder.object([&](std::string_view key) {
    if (key == "key") {
      decoder.interned(taint.key);
    } else if (key == "value") {
      decoder.interned(taint.value);
    } else if (key == "effect") {
      std::string_view effect;
      decoder.view(effect);
      taint.effect = effect == "NoExecute"          ? TaintEffect::kNoExecute
                     : effect == "PreferNoSchedule" ? TaintEffect::kPreferNoSchedule
                                                    : TaintEffect::kNoSchedule;
    } else {
      decoder.skip();
    }
  });
}

void read_node_info(Decoder& decoder, NodeInfo& info) {
  decoder.object([&](std::string_view key) {
    if (key == "kernelVersion") {
      decoder.interned(info.kernel_version);
    } else if (key == "osImage") {
      decoder.interned(info.os_image);
    } else if (key == "architecture") {
      decoder.interned(info.architecture);
    } else if (key == "containerRuntimeVersion") {
      decoder.interned(info.container_runtime_version);
    } else if (key == "kubeletVersion") {
      decoder.interned(info.kubelet_version);
    } else if (key == "bootID") {
      decoder.text(info.boot_id);
    } else {
      decoder.skip();
    }
  });
}

void read_internal_ip(Decoder& decoder, Node& node) {
  decoder.array([&] {
    bool internal = false;
    Text address;
    decoder.object([&](std::string_view key) {
      if (key == "type") {
        std::string_view type;
        decoder.view(type);
        internal = type == "InternalIP";
      } else if (key == "address") {
        decoder.text(address);
      } else {
        decoder.skip();
      }
    });
    // A node of two families has two; the first is the primary one.
    if (internal && node.internal_ip.empty()) node.internal_ip = address;
  });
}

void read_node_status(Decoder& decoder, const NodeFields& fields, Node& node) {
  decoder.object([&](std::string_view key) {
    if (key == "capacity") {
      read_resources(decoder, node.capacity);
    } else if (key == "allocatable") {
      read_resources(decoder, node.allocatable);
    } else if (key == "conditions") {
      read_vector(decoder, node.conditions,
                  [&](NodeCondition& c) { read_node_condition(decoder, fields.condition_messages, c); });
    } else if (key == "nodeInfo" && fields.info) {
      read_node_info(decoder, node.info);
    } else if (key == "addresses" && fields.info) {
      read_internal_ip(decoder, node);
    } else {
      decoder.skip();
    }
  });
}

}  // namespace

void read_text_map(Decoder& decoder, const KeyFilter& filter, TextMap& out) {
  if (filter.keeps_none()) return decoder.skip();
  // Values of labels repeat; long ones are annotations with a text of their own.
  constexpr std::size_t kSharedMax = 63;
  decoder.object([&](std::string_view key) {
    if (!filter.keeps(key)) return decoder.skip();
    Text held = decoder.interner().intern(key);  // before the value: the key's view ends with the next read
    std::string_view value;
    decoder.view(value);
    out.set(std::move(held), value.size() <= kSharedMax ? decoder.interner().intern(value) : Text::plain(value));
  });
  out.shrink_to_fit();
}

void read_meta(Decoder& decoder, const MetaFields& fields, ObjectMeta& meta) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.text(meta.name);
    } else if (key == "namespace") {
      decoder.interned(meta.ns);
    } else if (key == "uid") {
      decoder.text(meta.uid);
    } else if (key == "resourceVersion") {
      decoder.string(meta.resource_version);
    } else if (key == "generation") {
      decoder.integer(meta.generation);
    } else if (key == "creationTimestamp") {
      decoder.time(meta.created);
    } else if (key == "deletionTimestamp") {
      decoder.time(meta.deleted);
    } else if (key == "labels") {
      read_text_map(decoder, fields.labels, meta.labels);
    } else if (key == "annotations") {
      read_text_map(decoder, fields.annotations, meta.annotations);
    } else if (key == "ownerReferences") {
      read_owners(decoder, meta);
    } else {
      decoder.skip();
    }
  });
}

void read_amount(Decoder& decoder, std::string_view resource, std::int64_t& out) {
  const Type type = decoder.reader().peek();
  if (type != Type::kString && type != Type::kNumber && type != Type::kNull && type != Type::kError) {
    return decoder.fail("wanted a quantity like 500m or 2Gi, found another kind of value");
  }
  std::string_view raw;
  if (!decoder.reader().raw(raw)) return;
  if (type == Type::kString && raw.size() >= 2) {
    if (const auto plain = plain_amount(raw.substr(1, raw.size() - 2), resource == "cpu")) {
      out = *plain;
      return;
    }
  }
  auto quantity = model::Quantity::from_json_text(raw);
  if (!quantity) return decoder.fail(quantity.error().message);
  out = amount_of(resource, *quantity);
}

void read_resources(Decoder& decoder, ResourceList& out) {
  decoder.object([&](std::string_view key) {
    const Text name = decoder.interner().intern(key);
    std::int64_t amount = 0;
    read_amount(decoder, name, amount);
    if (decoder.ok()) out.set(name, amount);
  });
  out.shrink_to_fit();
}

void read_container(Decoder& decoder, Container& container) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.interned(container.name);
    } else if (key == "resources") {
      decoder.object([&](std::string_view member) {
        if (member == "requests") {
          read_resources(decoder, container.requests);
        } else if (member == "limits") {
          read_resources(decoder, container.limits);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "restartPolicy") {
      std::string_view policy;
      decoder.view(policy);
      container.restart_always = policy == "Always";
    } else {
      decoder.skip();
    }
  });
}

void read_truth(Decoder& decoder, Truth& out) {
  std::string_view text;
  decoder.view(text);
  out = text == "True" ? Truth::kTrue : text == "False" ? Truth::kFalse : Truth::kUnknown;
}

void read_resource_map(Decoder& decoder, ResourceList& out) {
  decoder.object([&](std::string_view key) {
    if (key != "resources") return decoder.skip();
    read_resources(decoder, out);
  });
}

Result<Pod> decode_pod(std::string_view bytes, const PodFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "Pod");
  Pod pod;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields.meta, pod.meta);
    } else if (key == "spec") {
      read_pod_spec(decoder, fields, pod);
    } else if (key == "status") {
      read_pod_status(decoder, fields, pod);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(pod.meta));
  return pod;
}

Result<Node> decode_node(std::string_view bytes, const NodeFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "Node");
  Node node;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields.meta, node.meta);
    } else if (key == "spec") {
      decoder.object([&](std::string_view member) {
        if (member == "unschedulable") {
          decoder.boolean(node.unschedulable);
        } else if (member == "taints") {
          read_vector(decoder, node.taints, [&](Taint& taint) { read_taint(decoder, taint); });
        } else {
          decoder.skip();
        }
      });
    } else if (key == "status") {
      read_node_status(decoder, fields, node);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(node.meta));
  return node;
}

Result<ConfigMap> decode_config_map(std::string_view bytes, const MetaFields& fields, const KeyFilter& data,
                                    Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "ConfigMap");
  ConfigMap map;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, map.meta);
    } else if (key == "data") {
      read_text_map(decoder, data, map.data);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(map.meta));
  return map;
}

namespace {

// Candidates use only when a lease was seen to change, not its times. So an unreadable time (one beyond 2262, for
// example) must not block them for ever.
std::optional<base::WallTime> time_if_any(Decoder& decoder) {
  std::string_view json;
  decoder.raw(json);
  if (!decoder.ok() || json.size() < 2 || json.front() != '"') return std::nullopt;
  return base::parse_rfc3339(json.substr(1, json.size() - 2));
}

}  // namespace

Result<Lease> decode_lease(std::string_view bytes, const MetaFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "Lease");
  Lease lease;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, lease.meta);
    } else if (key == "spec") {
      decoder.object([&](std::string_view member) {
        if (member == "holderIdentity") {
          decoder.string(lease.holder);
        } else if (member == "leaseDurationSeconds") {
          decoder.optional(lease.duration_s);
        } else if (member == "acquireTime") {
          lease.acquired = time_if_any(decoder);
        } else if (member == "renewTime") {
          lease.renewed = time_if_any(decoder);
        } else if (member == "leaseTransitions") {
          decoder.integer32(lease.transitions);
        } else {
          decoder.skip();
        }
      });
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(lease.meta));
  return lease;
}

Result<Event> decode_event(std::string_view bytes, const MetaFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "Event");
  Event event;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, event.meta);
    } else if (key == "involvedObject") {
      decoder.object([&](std::string_view member) {
        if (member == "kind") {
          decoder.interned(event.about_kind);
        } else if (member == "namespace") {
          decoder.interned(event.about_ns);
        } else if (member == "name") {
          decoder.text(event.about_name);
        } else if (member == "uid") {
          decoder.text(event.about_uid);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "type") {
      decoder.interned(event.type);
    } else if (key == "reason") {
      decoder.interned(event.reason);
    } else if (key == "message") {
      decoder.string(event.message);
    } else if (key == "source") {
      decoder.object([&](std::string_view member) {
        if (member != "component") return decoder.skip();
        decoder.interned(event.component);
      });
    } else if (key == "count") {
      decoder.integer32(event.count);
    } else if (key == "firstTimestamp") {
      decoder.time(event.first);
    } else if (key == "lastTimestamp") {
      decoder.time(event.last);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(event.meta));
  return event;
}

}  // namespace tidemark::kube
