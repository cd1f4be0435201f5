import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkerEnvironment } from '../engine/config.ts'
import { type Contender, engineContender } from '../engine/contender.ts'
import { KEEP_ALL, PARTITIONS } from '../engine/job.ts'
import { JOBS } from '../engine/jobs.ts'
import { loadInput } from '../engine/load.ts'
import { measureRun } from '../engine/measure.ts'
import { jobEnvironment } from './job-environment.ts'
import type { Place, RestoreFigures } from './scenarios.ts'

/**
 * Measures restores by the engine in the same way as `restoreKafkaStreams` does for the peer. Runs job J2 on the real
 * payments with exactly-once processing, wipes the state, and then restores the state from the changelog.
 */
export async function restoreJob(place: Place, dataDir: string, records: number, runs: number): Promise<RestoreFigures[]> {
  const { brokers, folder, transport } = place
  const group = `bench-restore-${randomUUID().slice(0, 8)}`
  const worker = { ...jobEnvironment(brokers, group), stateDir: join(folder, group) }
  await transport.ensureTopics([{ name: worker.output, partitions: PARTITIONS, config: KEEP_ALL }])
  await loadInput(transport, worker.input, JOBS.J2.input(dataDir, records))
  const contender = engineContender({ workers: 1, nodeArguments: [] })
  await measureRun({ contender, worker, records })
  const figures: RestoreFigures[] = []
  for (let run = 0; run < runs; run++) {
    rmSync(worker.stateDir, { recursive: true, force: true })
    figures.push(await startOnce(contender, worker))
  }
  return figures
}

/** Starts a worker, waits until its whole state is restored, and stops the worker. */
async function startOnce(contender: Contender, worker: WorkerEnvironment): Promise<RestoreFigures> {
  const startedAt = Date.now()
  const running = contender.start(worker)
  try {
    return await new Promise((resolve) => {
      let [records, ms] = [0, 1]
      running.listen(([word, ...rest]) => {
        if (word === 'RESTORED') [records, ms] = [Number(rest[1]), Number(rest[3])]
        // The state was wiped before the start, so a worker that is running has restored all of it.
        if (word === 'STATE' && records > 0)
          resolve({ records, recordsPerSecond: (records / ms) * 1_000, startToReadySeconds: (Number(rest[1]) - startedAt) / 1_000 })
      })
    })
  } finally {
    await running.stop()
  }
}
