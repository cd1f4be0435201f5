/** How far one topology or sink is behind, over all workers. */
export interface PipelineLag {
  readonly name: string
  /** Records between its positions and the ends of its topics. */
  readonly records: number
  /** Tasks or partitions that it works on. */
  readonly places: number
  /** Tasks whose state is being restored. */
  readonly restoring: number
}

/** What workers answer at /tasks, as far as it is read here. */
interface RunnerReport {
  readonly tasks?: readonly { readonly lag?: number }[]
  readonly lanes?: readonly { readonly lag?: number }[]
  readonly restoring?: readonly unknown[]
}

const TIMEOUT_MS = 2_000

/** Asks every worker; one that does not answer is left out (its health tells). @param workers base URLs */
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
