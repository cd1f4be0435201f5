/** One server or process of the local stack, such as the broker, Redis, ClickHouse or the registry. */
export interface Component {
  readonly name: string
  /** The address to which clients connect: host:port or a URL; empty for a process without a listener. */
  readonly address: string
  readonly logFile: string
  /**
   * Checks that the component can listen on its ports, unless its process is already running.
   * @throws Error that names the port and its setting
   */
  checkPorts(): Promise<void>
  /**
   * Starts the component, or reuses the process that an earlier run left running. Resolves when the component responds.
   */
  start(): Promise<'started' | 'reused'>
  /** Runs a cheap health check. Never throws. */
  isHealthy(): Promise<boolean>
  /** Resolves when the process has ended for any reason. Call only after `start`. */
  whenExited(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Shuts the component down gracefully. */
  stop(): Promise<void>
  /** Kills the process with SIGKILL. Tests and benchmarks use this method. */
  kill(): Promise<void>
  readonly pid: number | undefined
}
