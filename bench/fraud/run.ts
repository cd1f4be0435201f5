import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { inFolder } from '../harness/folder.ts'
import { appendResults } from '../harness/table.ts'
import { blocklistTable } from './blocklist.ts'
import { measureModels } from './models/models.ts'
import type { PartName } from './part-names.ts'
import { peersTable } from './peers/table.ts'
import { measureProfiles } from './profiles/profiles.ts'
import { rulesTable } from './rules-table.ts'
import declaration from './run.command.ts'
import { measureScores } from './score/score.ts'

/** `npm run bench:fraud`: see run.command.ts. */
async function main(): Promise<void> {
  const { part, changes, entries, users, scores, seconds, records, rounds, prof, note } = commandLine(declaration)
  const lines: string[] = []

  function say(text: string): void {
    lines.push(text)
    process.stdout.write(`${text}\n`)
  }

  const measure: Readonly<Record<PartName, () => Promise<void> | void>> = {
    rules: async () => {
      rulesTable(say)
      await peersTable(say)
    },
    blocklist: () => inFolder((folder) => blocklistTable(folder, { changes, entries }, say)),
    models: () => measureModels({ perSecond: scores, seconds }, say),
    profiles: () => inFolder((folder) => measureProfiles(folder, { users, records, rounds, prof }, say)),
    score: () => inFolder((folder) => measureScores(folder, { users, entries, perSecond: scores, seconds, rounds, prof }, say)),
  }
  for (const name of part) await measure[name]()
  appendResults('bench:fraud', note, lines)
}

await runMain(main)
