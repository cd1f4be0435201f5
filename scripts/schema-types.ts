import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { typescriptOf } from '../schemas/avro/typescript.ts'
import { loadSchema, schemaFolders } from '../schemas/load.ts'
import { commandLine } from './command-line/main.ts'
import declaration from './schema-types.command.ts'

/**
 * Writes schemas/<folder>/types.ts from the .avsc files of each folder, and the settings into README.md (`npm run
 * schemas`).
 */
commandLine(declaration)
const targets = [...schemaFolders()].map(([folder, files]) => {
  const target = fileURLToPath(new URL(`../schemas/${folder}/types.ts`, import.meta.url))
  writeFileSync(target, typescriptOf(files.map((file) => ({ file, schema: loadSchema(file) }))))
  process.stdout.write(`${files.length} schemas → schemas/${folder}/types.ts\n`)
  return target
})
execFileSync('npx', ['biome', 'format', '--write', ...targets], { stdio: ['ignore', 'ignore', 'inherit'] })

// Imported late, so that the types are written even if a service cannot be loaded.
const { renewReadme } = await import('./settings-table.ts')
renewReadme()
process.stdout.write('settings → README.md\n')
