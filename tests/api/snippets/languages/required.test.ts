import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bounded, detectLanguage, PLAINTEXT } from '../../../../api/snippets/languages/detect.ts'
import { gramsOf, mayMatch } from '../../../../api/snippets/languages/grams.ts'
import { requirementOf } from '../../../../api/snippets/languages/required.ts'
import { languages } from '../../../../api/snippets/languages/table.ts'

const patterns = languages.flatMap((language) => language.patterns.map(([pattern]) => pattern))

/** Returns whether the text's grams make the detection try the pattern on the text. */
function passes(pattern: RegExp, text: string): boolean {
  return mayMatch(pattern)(gramsOf(pattern.ignoreCase ? text.toLowerCase() : text))
}

describe('the grams that a match must contain', () => {
  it.each([
    [/foo/, [['foo']]],
    [/\bfoo\b *bar/, [['foo'], ['bar']]],
    [/new (?:Map|Set)\(/, [['new '], ['new Map', 'new Set'], ['(']]],
    [/(?:abc|de)f?/, [['abc', 'de']]],
    [/(?:async )?def/, [['def']]],
    [/(?:^|\s)x/, [['x']]],
    [/^[ \t]*import /, [['\nimport ']]],
    [/^[ \t]*(?:if|else)\b/, [['\nif', '\nelse']]],
    [/^ +x/, [['x']]],
    [/a+b/, [['a'], ['b']]],
    [/a{2,3}[bc]\.d/, [['a'], ['.d']]],
    [/x{0,3}y(?=z)/, [['y']]],
    [/BEGIN Ä/i, [['begin ']]],
    [/\w\d[a-z]./, []],
    [/a|\w/, []],
  ])('are found for %s', (pattern, requirement) => {
    expect(requirementOf(pattern)).toEqual(requirement)
  })

  it('are not guessed if the pattern contains an unknown escape: an error is thrown instead', () => {
    expect(() => requirementOf(/\x41/)).toThrow('is not understood')
  })
})

describe('skipped patterns', () => {
  it('a skipped pattern does not match, regardless of the text around a possible match', () => {
    const around = fc.string({ unit: fc.constantFrom(...' \t\nax.:=({"#@$') })
    for (const pattern of patterns) {
      // Skips patterns with look-around assertions, because the generator does not support them.
      if (/\(\?<?[=!]/.test(pattern.source)) continue
      const plain = new RegExp(bounded(pattern).source.replaceAll('\\b', ''))
      fc.assert(
        fc.property(fc.stringMatching(plain), around, around, (inside, before, after) => {
          const text = `${before}${inside}${after}`
          const isMatch = new RegExp(bounded(pattern)).test(text)
          expect(!isMatch || passes(pattern, text), `${pattern} in ${JSON.stringify(text)}`).toBe(true)
        }),
        { numRuns: 10 },
      )
    }
  })

  it('running all patterns instead of skipping some gives the same result', () => {
    const lines = [
      'import os',
      'const x = 1',
      '  return x;',
      'def f(a):',
      '#include <stdio.h>',
      'SELECT id FROM t WHERE a = 1',
      'func main() {',
      '}',
      '<p>hi</p>',
      'key: value',
      'let mut y = 2;',
      'echo "$x"',
      '"a": 1,',
      '-- comment',
      'class A extends B {',
      'end',
      'public static void main(String[] args)',
      'Hello, world.',
      '\t@x',
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...lines), { maxLength: 12 }), (chosen) => {
        const text = chosen.join('\n')
        expect(detectLanguage(text)).toBe(bySimplyRunningAll(text))
      }),
      { numRuns: 300 },
    )
  })
})

/** Detects the language by the documented rule, but runs every pattern instead of skipping some. */
function bySimplyRunningAll(text: string): string {
  let best = { name: PLAINTEXT, score: 0 }
  for (const { name, patterns } of languages) {
    let [matches, score] = [0, 0]
    for (const [pattern, weight] of patterns) {
      const found = Math.min(6, [...text.matchAll(bounded(pattern))].length)
      if (found > 0) score += weight * (1 + Math.log2(found))
      matches += found
    }
    if (matches >= 2 && score >= 3 && score > best.score) best = { name, score }
  }
  return best.name
}
