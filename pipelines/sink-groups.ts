import type { WorkerRole } from './service.ts'
import type { SinkDeclaration } from './sinks.ts'

/** The part of a service that decides about the groups of its sinks. */
export interface SinkOwner {
  readonly name: string
  readonly role: WorkerRole
  readonly sinks: readonly SinkDeclaration[]
}

/**
 * The consumer group of each sink: one for each role and store. Its members may run different services, because each
 * subscribes only to the topics of its own sinks. But a partition has one owner in a group. Where sinks of two services
 * read the same topic, that owner may run only one of the services. Therefore the service that is listed later gets a
 * group of its own for that sink.
 * @param services all that there are, not only those that this process runs: every process must come to the same result
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
