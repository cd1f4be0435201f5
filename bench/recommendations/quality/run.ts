import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { expectedDataFolder } from '../../../scripts/config.ts'
import { appendResults, row } from '../../harness/table.ts'
import { contenders } from './contenders.ts'
import { readRatings } from './ratings.ts'
import declaration from './run.command.ts'
import { askInSequence, type Quality, SEGMENTS } from './sequence.ts'

/** Ratings to train on once. Questions come from those after them. */
const TRAINED = 64_000
const DIGITS = 4

function sumOf(parts: readonly Quality[]): Quality {
  const sum = (of: (part: Quality) => number) => parts.reduce((total, part) => total + of(part), 0)
  return { questions: sum(({ questions }) => questions), hits: sum(({ hits }) => hits), gain: sum(({ gain }) => gain) }
}

await runMain(async () => {
  const { note } = commandLine(declaration)
  const ratings = readRatings(expectedDataFolder())
  const items = 1 + ratings.reduce((most, { item }) => Math.max(most, item), 0)
  const all = contenders(items)
  const results = askInSequence(ratings, TRAINED, all, items)
  const segments = SEGMENTS.map((from, at) => `hit@20 from ${from} earlier interactions (${results[0][at].questions} questions)`)
  const lines = [
    `${sumOf(results[0]).questions} questions. These are channels alone, without the lists of the API and without a trained model.`,
    '',
    row(['contender', 'hit@20', 'NDCG@20', ...segments]),
    row(['---', '---', '---', ...segments.map(() => '---')]),
    ...all.map(({ name }, at) => {
      const { questions, hits, gain } = sumOf(results[at])
      const parts = results[at].map((part) => (part.hits / part.questions).toFixed(DIGITS))
      return row([name, (hits / questions).toFixed(DIGITS), (gain / questions).toFixed(DIGITS), ...parts])
    }),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  appendResults('bench:recs-quality', note, lines)
})
