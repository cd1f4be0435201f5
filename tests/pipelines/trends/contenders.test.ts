import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Contenders } from '../../../pipelines/trends/contenders.ts'
import { TermTable, TextBytes } from '../../../pipelines/trends/term-table.ts'

const KEEP = 6
const ASKED = 4
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), term: fc.integer({ min: 0, max: 40 }), by: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant('fade' as const), term: fc.integer({ min: 0, max: 40 }), by: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant('ask' as const), term: fc.constant(0), by: fc.constant(0) }),
)

function nameOf(term: number): string {
  return `t${String(term).padStart(2, '0')}`
}

function ranked(values: ReadonlyMap<string, number>): [string, number][] {
  return [...values].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

interface Evaluation {
  readonly value: number
  readonly bound: number
}

/** Creates contenders. A test can offer terms by name, and gets the names of the best terms. */
function contenders(keep: number) {
  const table = new TermTable()
  const subject = new Contenders(keep, table)
  return {
    offer: (term: string, bound: number) => subject.offer(new TextBytes().of(term), bound),
    best(count: number, evaluate: (terms: readonly string[]) => readonly Evaluation[]) {
      const evaluations = new Map<number, Evaluation>()
      const best = subject.best(count, {
        evaluate(terms) {
          const found = evaluate(terms.map((term) => table.text(term)))
          for (const [i, term] of terms.entries()) evaluations.set(term, found[i])
        },
        valueOf: (term) => evaluations.get(term)!.value,
        boundOf: (term) => evaluations.get(term)!.bound,
      })
      return best && { terms: best.terms.map((term) => table.text(term)), rest: best.rest }
    },
    restart: () => subject.restart(),
    get size() {
      return subject.size
    },
  }
}

type Named = ReturnType<typeof contenders>

function ask(subject: Named, values: ReadonlyMap<string, number>): ReturnType<Named['best']> {
  return subject.best(ASKED, (terms) => terms.map((term) => ({ value: values.get(term) ?? 0, bound: values.get(term) ?? 0 })))
}

test('the best terms are those of a full sort, or undefined until all terms are offered again', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const subject = contenders(KEEP)
      const values = new Map<string, number>()
      for (const { kind, term, by } of steps) {
        const name = nameOf(term)
        if (kind === 'add') {
          values.set(name, (values.get(name) ?? 0) + by)
          subject.offer(name, values.get(name)!)
        } else if (kind === 'fade') {
          values.set(name, Math.max(0, (values.get(name) ?? 0) - by))
        } else {
          let best = ask(subject, values)
          if (best === undefined) {
            subject.restart()
            for (const [each, value] of values) subject.offer(each, value)
            best = ask(subject, values)
          }
          const expected = ranked(values)
          expect(best?.terms).toEqual(expected.slice(0, ASKED).map(([each]) => each))
          expect(best?.rest).toBeGreaterThanOrEqual(expected[ASKED]?.[1] ?? 0)
          expect(subject.size).toBeLessThanOrEqual(2 * KEEP)
        }
      }
    }),
    { numRuns: 1000 },
  )
})

test('the best terms are undefined when remembered terms fall below the floor, because omitted terms may rank higher', () => {
  const subject = contenders(2)
  const values = new Map<string, number>()
  function offer(term: string, value: number): void {
    values.set(term, value)
    subject.offer(term, value)
  }
  // These values fill the list. It is then trimmed to the best two entries, so c with the value 8 is left out.
  for (const [term, value] of [
    ['a', 10],
    ['b', 9],
    ['c', 8],
    ['d', 7],
    ['e', 6],
  ] as const)
    offer(term, value)
  offer('a', 1)
  offer('b', 1)
  offer('f', 20)
  offer('g', 20)
  offer('f', 2)
  offer('g', 1)
  // This fills the list again. It is trimmed, and the second best value is now 2, so c may rank higher.
  offer('h', 20)
  expect(subject.best(2, (terms) => terms.map((term) => ({ value: values.get(term)!, bound: values.get(term)! })))).toBeUndefined()
})

test('a term whose value can grow without new input is remembered with its maximum possible value', () => {
  const subject = contenders(KEEP)
  subject.offer('dated ahead', 5)
  subject.offer('now', 3)
  const before = subject.best(1, (terms) => terms.map((term) => (term === 'now' ? { value: 3, bound: 3 } : { value: 0, bound: 5 })))
  expect(before).toEqual({ terms: ['now'], rest: 0 })
  const after = subject.best(1, (terms) => terms.map((term) => (term === 'now' ? { value: 3, bound: 3 } : { value: 5, bound: 5 })))
  expect(after?.terms).toEqual(['dated ahead'])
})

test('only terms that can be among the best are evaluated', () => {
  const subject = contenders(100)
  for (let i = 0; i < 90; i++) subject.offer(nameOf(i), i + 1)
  let evaluated = 0
  subject.best(10, (terms) => {
    evaluated += terms.length
    return terms.map((term) => ({ value: Number(term.slice(1)) + 1, bound: Number(term.slice(1)) + 1 }))
  })
  expect(evaluated).toBe(10)
})
