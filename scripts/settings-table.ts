import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { API_VARIABLES } from '../api/config.ts'
import { apiServices } from '../api/services.ts'
import { LOCAL_VARIABLES } from '../deploy/local/config.ts'
import { kafkaSettings } from '../kafka/settings.ts'
import { WORKER_VARIABLES } from '../pipelines/config.ts'
import { pipelineServices } from '../pipelines/services.ts'
import type { Variables } from '../settings/fragment.ts'
import { surroundingsSettings } from '../settings/surroundings.ts'
import { withSettingsTable } from '../settings/table.ts'
import { stateSettings } from '../state/settings.ts'

const README = fileURLToPath(new URL('../README.md', import.meta.url))

/** All settings, in the order of the table in README.md. */
const GROUPS: readonly Variables[] = [
  LOCAL_VARIABLES,
  surroundingsSettings.variables,
  ...[kafkaSettings, stateSettings].map(({ variables }) => variables),
  ...API_VARIABLES,
  ...WORKER_VARIABLES,
  ...[...apiServices, ...pipelineServices].map(({ settings }) => settings.variables),
]

/** Returns the current README.md, and the same text with an up-to-date table of settings. */
export function readmes(): { readonly present: string; readonly renewed: string } {
  const present = readFileSync(README, 'utf8')
  return { present, renewed: withSettingsTable(present, GROUPS) }
}

export function renewReadme(): void {
  writeFileSync(README, readmes().renewed)
}
