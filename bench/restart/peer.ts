import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { PeerMissingError } from '../peer-missing.ts'
import { childEnvironment } from './config.ts'

const result = z.object({ restored: z.number(), restore_s: z.number(), start_to_running_s: z.number() })
/** Returns true for lines about restores. All other lines describe the runs that created the state. */
const isRestore = (line: object) => 'kind' in line && line.kind === 'restore'

/** Parameters for restoring the wiped state of job J2 with a peer. */
export interface PeerRestore {
  readonly brokers: string
  readonly peersDir: string
  readonly dataDir: string
  readonly folder: string
  readonly records: number
  readonly runs: number
}

/**
 * Measures restores by Kafka Streams with the peer's program, on the same broker.
 * @throws PeerMissingError when the program is missing or fails
 */
export async function restoreKafkaStreams({ brokers, peersDir, dataDir, folder, records, runs }: PeerRestore) {
  const script = join(peersDir, 'bench.sh')
  if (!existsSync(script))
    throw new PeerMissingError(`${script} does not exist; set PEERS_DIR to the folder that contains the peers' programs`)
  const results = join(folder, 'peer-results.jsonl')
  const settings = { KAFKA_BROKERS: brokers, RESULTS: results, NAME: 'restore', GUARANTEE: 'eos', THREADS: '2', KEEP_CHANGELOG: '1' }
  const env = childEnvironment({ ...settings, BENCH_LOCK: join(folder, 'peer-lock'), DATA_DIR: dataDir })
  async function run(...args: string[]): Promise<void> {
    const child = spawn(script, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new PeerMissingError(`${script} ${args.join(' ')} exited with code ${code}`)
  }
  await run('load', 'j2', String(records))
  for (let i = 0; i < runs; i++) await run('restore', String(records), 'kafka-streams')
  const lines = readFileSync(results, 'utf8').trim().split('\n')
  return lines
    .map((line) => JSON.parse(line) as object)
    .filter(isRestore)
    .map((line) => result.parse(line))
}
