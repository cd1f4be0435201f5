/** One server of the local stack: the broker, Redis, ClickHouse, the registry. */
export interface Component {
  readonly name: string
  /** What a client is given: host:port, or a URL. */
  readonly address: string
  readonly logFile: string
  /** Starts it, or takes over the one that an earlier run has left running. Resolves when it answers. */
  start(): Promise<'started' | 'reused'>
  /** Asks it something cheap. Never throws. */
  isHealthy(): Promise<boolean>
  /** Resolves when the process has ended, for whatever reason. Only after `start`. */
  whenExited(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Stops in order. */
  stop(): Promise<void>
  /** kill -9, for tests. */
  kill(): Promise<void>
  readonly pid: number | undefined
}
