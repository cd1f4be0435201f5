import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { localConfig } from './config.ts'
import { LOOPBACK } from './ports.ts'
import { provisionTopics } from './provision.ts'
import declaration from './topics.command.ts'

/**
 * Creates the topics and registers the schemas on the given servers. Run it once before the first worker of a new
 * environment starts. Existing topics keep their partition counts.
 */
async function main(): Promise<void> {
  commandLine(declaration)
  const { kafka, registry, partitions } = localConfig()
  const brokers = kafka.given ?? `${LOOPBACK}:${kafka.port}`
  const count = await provisionTopics(brokers, registry.given ?? `http://${LOOPBACK}:${registry.port}`, partitions)
  process.stdout.write(`${count} public topics and their schemas exist; new topics on ${brokers} have ${partitions} partition counts\n`)
}

await runMain(main)
