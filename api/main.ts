import { bufferedOutput, STDOUT } from '../runtime/log-output.ts'
import { stopSignals } from '../runtime/stop-signals.ts'
import { readApiConfig } from './config.ts'
import { createLogger } from './kit/logging.ts'
import { startApi } from './start.ts'

async function main(): Promise<void> {
  const signals = stopSignals()
  const config = readApiConfig()
  const log = createLogger(config.logLevel, bufferedOutput(STDOUT))
  const api = await startApi(config, log)
  signals.stopWith(() => void api.stop().then(() => process.exit(0)))
}

try {
  await main()
} catch (error) {
  process.stderr.write(`the API cannot start: ${(error as Error).message}\n`)
  process.exit(1)
}
