import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { expectedDataFolder } from '../../../scripts/config.ts'
import { appendResults, row } from '../../harness/table.ts'
import { contenders } from './contenders.ts'
import { readFilms, readRatings } from './ratings.ts'
import declaration from './run.command.ts'
import { askInSequence, type Quality, SEGMENTS } from './sequence.ts'
import { askService } from './service.ts'

/** Number of ratings that the model is trained on. All test cases use later ratings. */
const TRAINED = 64_000
const DIGITS = 4

function sumOf(parts: readonly Quality[]): Quality {
  const sum = (of: (part: Quality) => number) => parts.reduce((total, part) => total + of(part), 0)
  return { questions: sum(({ questions }) => questions), hits: sum(({ hits }) => hits), gain: sum(({ gain }) => gain) }
}

function figuresOf(parts: readonly Quality[]): string[] {
  const { questions, hits, gain } = sumOf(parts)
  return [hits / questions, gain / questions, ...parts.map((part) => part.hits / part.questions)].map((share) => share.toFixed(DIGITS))
}

await runMain(async () => {
  const { note } = commandLine(declaration)
  const ratings = readRatings(expectedDataFolder())
  const items = 1 + ratings.reduce((most, { item }) => Math.max(most, item), 0)
  const all = contenders(items)
  const results = askInSequence(ratings, TRAINED, all, items)
  const segments = SEGMENTS.map((from, at) => `hit@20 from ${from} earlier interactions (${results[0][at].questions} test cases)`)
  const { results: service, trainingSeconds } = await askService(ratings, TRAINED, readFilms(expectedDataFolder()))
  const lines = [
    `${sumOf(results[0]).questions} test cases. First the methods alone, then the lists of the service: ordered by score, and as served (at most 3 items per genre). Training took ${trainingSeconds.toFixed(0)} s.`,
    '',
    row(['contender', 'hit@20', 'NDCG@20', ...segments, 'share of items shown to at least one user', 'genres in a list']),
    row(['---', '---', '---', ...segments.map(() => '---'), '---', '---']),
    ...all.map(({ name }, at) => row([name, ...figuresOf(results[at]), '', ''])),
    ...service.map(({ name, segments: parts, coverage, genres }) =>
      row([name, ...figuresOf(parts), coverage.toFixed(DIGITS), genres.toFixed(1)]),
    ),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  appendResults('bench:recs-quality', note, lines)
})
