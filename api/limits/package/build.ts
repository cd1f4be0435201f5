import { fileURLToPath } from 'node:url'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import declaration from './build.command.ts'
import { buildPackage } from './pack.ts'

const FOLDER = fileURLToPath(new URL('dist', import.meta.url))

async function main(): Promise<void> {
  commandLine(declaration)
  process.stdout.write(`${buildPackage(FOLDER)}\n`)
}

await runMain(main)
