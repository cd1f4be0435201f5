import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addForm, MAX_FORMS, mostFrequentForm } from '../../../pipelines/trends/forms.ts'
import type { TermForm } from '../../../schemas/trends/types.ts'

test('a term is shown in its most frequent spelling, and among equally frequent spellings, in the one that sorts first', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('sandy', 'Sandy', '#Sandy', 'SANDY'), { minLength: 1 }), (written) => {
      const forms: TermForm[] = []
      for (const form of written) addForm(forms, form, 1)
      const counts = new Map<string, number>()
      for (const form of written) counts.set(form, (counts.get(form) ?? 0) + 1)
      const most = Math.max(...counts.values())
      expect(mostFrequentForm(forms)).toBe(
        [...counts]
          .filter(([, count]) => count === most)
          .map(([form]) => form)
          .sort()[0],
      )
    }),
  )
})

test('a thousand odd spellings neither exceed the limit on stored spellings nor hide the common spelling', () => {
  const forms: TermForm[] = []
  for (let i = 0; i < 1000; i++) {
    addForm(forms, `odd ${i}`, 1)
    if (i % 10 === 0) addForm(forms, 'common', 2)
  }
  expect(forms).toHaveLength(MAX_FORMS)
  expect(mostFrequentForm(forms)).toBe('common')
})
