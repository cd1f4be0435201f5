import { join } from 'node:path'
import { LOOPBACK } from '../ports.ts'

export type SearchSettings = Readonly<Record<string, string | number | boolean>>

/** Returns the text of `opensearch.yml`. The settings suit a single node on a small machine. */
export function searchSettings(dataDir: string, port: number): string {
  const settings: SearchSettings = {
    'cluster.name': 'millrace',
    'node.name': 'local',
    'path.data': join(dataDir, 'data'),
    'path.logs': dataDir,
    'network.host': LOOPBACK,
    'http.port': port,
    // Only other nodes would connect to this port. There are none, so the system may choose any port.
    'transport.port': 0,
    'discovery.type': 'single-node',
    'transport.type': 'netty4',
    'http.type': 'netty4',
    // At 95 % disk usage, the watermarks would make every index read-only, even if other programs fill the disk.
    'cluster.routing.allocation.disk.threshold_enabled': false,
    // If the server created indexes automatically, a sink's write would create a deleted index again, without its
    // mapping.
    'action.auto_create_index': false,
    'action.destructive_requires_name': true,
    // If the server measured used memory, it would also count garbage that the serial collector has not removed yet,
    // and refuse requests needlessly.
    'indices.breaker.total.use_real_memory': false,
    // The timers of the next two settings have default intervals of 200 ms and 1 s, and cause most of the CPU usage of
    // an idle server.
    'thread_pool.estimated_time_interval': '1s',
    'monitor.jvm.gc.enabled': false,
  }
  // Every JSON text is also valid YAML.
  return `${JSON.stringify(settings, null, 2)}\n`
}
