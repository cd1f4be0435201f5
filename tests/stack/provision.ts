import { type ProvisionedServices, provisionTopics } from '../../deploy/local/provision.ts'
import { limitsServices } from '../../pipelines/limits/service.ts'
import type { PipelineService } from '../../pipelines/service.ts'
import { limitsSchemas } from '../../schemas/limits/topics.ts'
import type { ServiceSchemas } from '../../schemas/service.ts'

/**
 * Creates the topics of one service and of the rate limits, and registers their schemas. Every API reads the topics of
 * the rate limits. Creating the topics of all services would take three more seconds of CPU time per broker. Other
 * tests cover `npm start`, which creates all topics.
 * @param schemas the schemas of the service, and those of other services whose topics it reads or writes
 */
export async function provisionService(
  brokers: string,
  registryUrl: string,
  schemas: readonly ServiceSchemas[],
  pipelines: readonly PipelineService[],
  partitionsOf: Parameters<typeof provisionTopics>[2] = 'local',
): Promise<void> {
  const services: ProvisionedServices = {
    schemas: [...new Set([...schemas, limitsSchemas])],
    pipelines: [...new Set([...pipelines, ...limitsServices])],
  }
  await provisionTopics(brokers, registryUrl, partitionsOf, services)
}
