import { provisionTopics, topicSpecs } from '../../../deploy/local/provision.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'

/**
 * Creates the topics of all services on the given brokers. Topics whose names begin with one of the given prefixes get
 * the partition counts of production. All other topics get one partition, because a small broker would need minutes for
 * the hundreds of partitions in production. Prints the partition counts of production for the topics with these
 * prefixes, as JSON.
 */
const [brokers, registry, ...names] = process.argv.slice(2)
const isOfService = ({ name }: { readonly name: string }) => names.some((prefix) => name.startsWith(prefix))
const planned = (topic: AnyTopic) => (isOfService(topic) ? (topic.productionPartitions ?? topic.partitions) : 1)
await provisionTopics(brokers, registry, planned)
const specs = topicSpecs('production').filter(isOfService)
process.stdout.write(JSON.stringify(Object.fromEntries(specs.map(({ name, partitions }) => [name, partitions]))))
