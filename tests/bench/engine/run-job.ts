import type { JobInput, JobTopology } from '../../../bench/engine/job.ts'
import type { Topology } from '../../../pipelines/engine/index.ts'
import { DriverCrash, testDriver } from '../../../pipelines/engine/testing.ts'
import { byteWriter } from '../../../schemas/codec.ts'

const OUTPUT = 'out'
/** On average, the job commits after this many records. */
const COMMIT_ONE_IN = 7
const CRASH_ONE_IN = 3

/**
 * Runs a job on the test driver. `choices` decides after which records the job commits, and which commits crash, either
 * before or after the end of the transaction.
 * @returns 'ok', or the verifier's first fault
 */
export function runJob(declare: (options: JobTopology) => Topology, input: JobInput, choices: Iterator<number>): string {
  const choose = (below: number) => choices.next().value % below
  const topology = declare({ name: 'job', input: 'in', output: OUTPUT, onRecord: () => {} })
  const [{ topic }] = topology.declare().streams
  const driver = testDriver(topology, { commit: 'manual', cacheBytes: 1_000 })
  const key = byteWriter(16)
  const value = byteWriter(64)
  for (let i = 0; i < input.count; i++) {
    key.length = 0
    value.length = 0
    const timestamp = input.write(i, key, value)
    driver.pipeBytes(topic, key.buffer.subarray(0, key.length), value.buffer.subarray(0, value.length), { timestamp })
    driver.run()
    if (choose(COMMIT_ONE_IN) !== 0) continue
    if (choose(CRASH_ONE_IN) !== 0) {
      driver.commit()
      continue
    }
    driver.crashAt(choose(2) === 0 ? 'encoded' : 'committed')
    try {
      driver.commit()
    } catch (error) {
      if (!(error instanceof DriverCrash)) throw error
    }
    driver.restart()
  }
  driver.settle()
  return verify(input, driver.broker.records(OUTPUT))
}

function verify(input: JobInput, records: readonly { readonly key: Buffer | null; readonly value: Buffer | null }[]): string {
  const check = input.check()
  for (const { key, value } of records) {
    if (key === null || value === null) return 'a record without key or value'
    const both = Buffer.concat([key, value])
    const difference = check.record(both, 0, key.length, key.length, both.length)
    if (difference !== undefined) return difference
  }
  return check.missing() ?? 'ok'
}
