import { bufferedOutput, STDOUT } from '../runtime/log-output.ts'
import { readApiConfig } from './config.ts'
import { createLogger } from './kit/logging.ts'
import { startApi } from './start.ts'

async function main(): Promise<void> {
  const config = readApiConfig()
  const log = createLogger(config.logLevel, bufferedOutput(STDOUT))
  const api = await startApi(config, log)
  let isStopping = false

  /** Stops the API. A second signal exits immediately, without draining. */
  function onSignal(): void {
    if (isStopping) process.exit(1)
    isStopping = true
    void api.stop().then(() => process.exit(0))
  }

  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`the API cannot start: ${(error as Error).message}\n`)
  process.exit(1)
}
