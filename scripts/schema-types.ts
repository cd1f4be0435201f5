import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { typescriptOf } from '../schemas/avro/typescript.ts'
import { loadSchema, schemaFiles } from '../schemas/load.ts'

/** Writes schemas/types.ts from schemas/*.avsc (`npm run schemas`). */
const target = fileURLToPath(new URL('../schemas/types.ts', import.meta.url))
const schemas = schemaFiles().map((file) => ({ file, schema: loadSchema(file) }))
writeFileSync(target, typescriptOf(schemas))
execFileSync('npx', ['biome', 'format', '--write', target], { stdio: ['ignore', 'ignore', 'inherit'] })
process.stdout.write(`${schemas.length} schemas → schemas/types.ts\n`)
