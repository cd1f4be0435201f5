import { expect, it } from 'vitest'
import {
  KEPT_VERSIONS,
  NO_VERSION,
  NO_VERSIONS,
  promoted,
  rolledBack,
  type VersionHistory,
  withChallenger,
  withVersion,
} from '../../../state/versions/history.ts'
import type { FileVersion } from '../../../state/versions/version.ts'

const file = { name: 'vectors', hash: '0'.repeat(64), bytes: 1 }
const made = (sequence: number): FileVersion => ({ version: `v${sequence}`, sequence, files: [file] })
const names = ({ versions }: VersionHistory<FileVersion>) => versions.map(({ version }) => version)

function historyOf(count: number, inForce: readonly number[]) {
  let history: VersionHistory<FileVersion> = NO_VERSIONS
  for (let sequence = 1; sequence <= count; sequence++) {
    history = withVersion(history, made(sequence))
    if (inForce.includes(sequence)) history = promoted(history, `v${sequence}`)!
  }
  return history
}

it('the newest five versions are kept, and so is the champion, no matter how old it is', () => {
  expect(names(historyOf(7, [7]))).toEqual(['v7', 'v6', 'v5', 'v4', 'v3'])
  expect(names(historyOf(7, [1]))).toEqual(['v7', 'v6', 'v5', 'v4', 'v3', 'v1'])
  expect(KEPT_VERSIONS).toBe(5)
})

it('a version is added only once', () => {
  const history = historyOf(2, [2])
  expect(withVersion(history, made(2))).toBe(history)
})

it('a roll-back leads to the previous champion, and then to no version at all', () => {
  let history = historyOf(7, [1, 3, 5, 7])
  expect(history.earlier).toEqual(['v5', 'v3', NO_VERSION])
  history = rolledBack(history)!
  expect(history.champion).toBe('v5')
  history = rolledBack(history)!
  expect(history.champion).toBe('v3')
  history = rolledBack(history)!
  expect(history.champion).toBeUndefined()
  expect(rolledBack(history)).toBeUndefined()
  expect(promoted(history, 'v7')?.champion).toBe('v7')
  expect(promoted(history, 'v1')).toBeUndefined()
})

it('a roll-back leads to the previous champion, even if five versions are newer', () => {
  const chosen = promoted(historyOf(6, [5, 6]), 'v2')!
  const replaced = promoted(withVersion(chosen, made(7)), 'v7')!
  expect(names(replaced)).toEqual(['v7', 'v6', 'v5', 'v4', 'v3', 'v2'])
  expect(rolledBack(replaced)?.champion).toBe('v2')
  expect(names(promoted(withVersion(replaced, made(8)), 'v8')!)).toEqual(['v8', 'v7', 'v6', 'v5', 'v4'])
})

it('a trial ends when its version becomes the champion or is withdrawn', () => {
  const trial = withChallenger(historyOf(3, [2]), 'v3')!
  expect(trial.challenger).toBe('v3')
  expect(promoted(trial, 'v3')).toMatchObject({ champion: 'v3', challenger: undefined, earlier: ['v2', NO_VERSION] })
  expect(withChallenger(trial, undefined)?.challenger).toBeUndefined()
  expect(withChallenger(trial, 'v2')).toBeUndefined()
  expect(withChallenger(trial, 'v9')).toBeUndefined()
})
