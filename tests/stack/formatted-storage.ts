import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatStorage } from '../../deploy/local/kafka/java.ts'
import { ensureBrokerProgram } from '../../deploy/local/kafka/program.ts'
import { brokerProperties } from '../../deploy/local/kafka/settings.ts'

/**
 * Placeholder ports, because Kafka's formatting tool requires these settings. Each broker is started with its own
 * settings.
 */
const NO_PORTS = { client: 1, controller: 2 }
const HASH_CHARACTERS = 12
const CLUSTER_ID_BYTES = 16
/** Parts of a broker's data folder: its logs, and the stamp that marks them as formatted. */
const LOGS = 'logs'
const STAMP = 'formatted'

/**
 * Prepares the data folder of a new broker. Copies a folder that Kafka's tool has formatted earlier, because running
 * the tool would take a second per broker. Each cluster gets its own id.
 * @param tools the folder that contains the broker's jars and the formatted folder
 */
export async function copyFormattedStorage(tools: string, dataDir: string): Promise<void> {
  const source = await formattedStorage(tools)
  // The id must not begin with a dash. In a cluster, other brokers pass the id to Kafka's tool, and the tool would
  // parse such an id as an option.
  const clusterId = randomBytes(CLUSTER_ID_BYTES).toString('base64url').replace(/^-/, 'A')
  await mkdir(dataDir, { recursive: true })
  await cp(join(source, LOGS), join(dataDir, LOGS), { recursive: true })
  const meta = join(dataDir, LOGS, 'meta.properties')
  await writeFile(meta, (await readFile(meta, 'utf8')).replace(/^cluster\.id=.*$/m, `cluster.id=${clusterId}`))
  await writeFile(join(dataDir, STAMP), clusterId)
}

async function formattedStorage(tools: string): Promise<string> {
  const { jars, archive } = await ensureBrokerProgram(tools)
  const settings = createHash('sha256').update(brokerProperties('', NO_PORTS)).digest('hex').slice(0, HASH_CHARACTERS)
  const folder = join(jars, `formatted-${settings}`)
  if (existsSync(folder)) return folder
  const dataDir = await mkdtemp(`${folder}.partial-`)
  try {
    await formatStorage({ jars, dataDir, ports: NO_PORTS, logFile: join(dataDir, 'log'), archive })
    await rename(dataDir, folder).catch((error) => {
      // If another process has stored its formatted folder first, that folder is used instead, because both folders are
      // equivalent.
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
  return folder
}
