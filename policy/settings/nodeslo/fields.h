// The fields of NodeSLO.spec and of the settings it is made from, as tables (contract 3.2 and 4).
#pragma once

#include "policy/settings/nodeslo/typed_json.h"

namespace tidemark::policy::settings {

// The strategies: the settings hold them under the same names as the spec.
extern const ObjectSchema kThresholdSchema;
extern const ObjectSchema kQosSchema;
extern const ObjectSchema kCpuBurstSchema;
extern const ObjectSchema kSystemSchema;
extern const ObjectSchema kHostApplicationSchema;   // one application
extern const ObjectSchema kHostApplicationsSchema;  // {"applications": […]}

// NodeSLO.spec as it is on the server.
extern const ObjectSchema kSloSpecSchema;

// The texts of the ConfigMap: {"clusterStrategy": {…}, "nodeStrategies": [{"name", "nodeSelector", …}]}, and for host
// applications {"applications": […], "nodeConfigs": [{"name", "nodeSelector", "applications"}]}.
extern const ObjectSchema kThresholdConfigSchema;
extern const ObjectSchema kQosConfigSchema;
extern const ObjectSchema kCpuBurstConfigSchema;
extern const ObjectSchema kSystemConfigSchema;
extern const ObjectSchema kHostApplicationConfigSchema;

}  // namespace tidemark::policy::settings
