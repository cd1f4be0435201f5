/** The lag of one topology or sink, summed over all workers. */
export interface PipelineLag {
  readonly name: string
  /** Number of records between the pipeline's positions and the end offsets of its topics. */
  readonly records: number
  /** Number of tasks of the topology, or of partitions of the sink, that the workers process. */
  readonly places: number
  /** Number of tasks that are still restoring their state. */
  readonly restoring: number
}

/** The fields of a worker's /tasks response that are used here. */
interface RunnerReport {
  readonly tasks?: readonly { readonly lag?: number }[]
  readonly lanes?: readonly { readonly lag?: number }[]
  readonly restoring?: readonly unknown[]
}

const TIMEOUT_MS = 2_000

/**
 * Queries every worker, and returns the lag of each topology and sink in the order of their names. Leaves out workers
 * that do not respond, because their health checks report them.
 * @param workers base URLs
 */
export async function pipelineLags(workers: readonly string[]): Promise<PipelineLag[]> {
  const answers = await Promise.all(workers.map(reportsOf))
  const lags = new Map<string, PipelineLag>()
  for (const [name, report] of answers.flatMap((reports) => Object.entries(reports))) {
    const places = [...(report.tasks ?? []), ...(report.lanes ?? [])]
    const sum = lags.get(name) ?? { name, records: 0, places: 0, restoring: 0 }
    lags.set(name, {
      name,
      records: sum.records + places.reduce((total, { lag = 0 }) => total + lag, 0),
      places: sum.places + places.length,
      restoring: sum.restoring + (report.restoring?.length ?? 0),
    })
  }
  return [...lags.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function reportsOf(worker: string): Promise<Record<string, RunnerReport>> {
  try {
    const response = await fetch(new URL('/tasks', worker), { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return (await response.json()) as Record<string, RunnerReport>
  } catch {
    return {}
  }
}
