import type { WorkerRole } from './service.ts'
import type { SinkDeclaration } from './sinks.ts'

/** The properties of a service that determine the groups of its sinks. */
export interface SinkOwner {
  readonly name: string
  readonly role: WorkerRole
  readonly sinks: readonly SinkDeclaration[]
}

/**
 * Returns the consumer group of each sink, keyed by the sink's name. There is one group for each role and external
 * system (`store`). Its members may run different services, because each member subscribes only to the topics of its
 * own sinks.
 *
 * However, a partition has only one owner per group. If sinks of two services read the same topic, the owner of a
 * partition may run only one of these services. The sink of the service that comes later in the list of services
 * therefore gets a separate group.
 * @param services all services, not only those of this process, because all processes must get the same result
 */
export function sinkGroupIds(services: readonly SinkOwner[]): Map<string, string> {
  const firstReaders = new Map<string, string>()
  const ids = new Map<string, string>()
  for (const { name: service, role, sinks } of services) {
    for (const { name, store, topics } of sinks) {
      const shared = `sinks-${role}-${store}`
      const isAlone = topics.some((topic) => (firstReaders.get(`${shared} ${topic.name}`) ?? service) !== service)
      ids.set(name, isAlone ? `${shared}-${name}` : shared)
      if (isAlone) continue
      for (const topic of topics) firstReaders.set(`${shared} ${topic.name}`, service)
    }
  }
  return ids
}
