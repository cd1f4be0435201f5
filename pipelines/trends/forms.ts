import type { TermForm } from '../../schemas/trends/types.ts'

/**
 * Maximum number of spellings per term. People use two or three, and the limit prevents a flood of odd spellings from
 * filling the state.
 */
export const MAX_FORMS = 16

/**
 * Counts a spelling. If the list is full, a new spelling replaces the rarest one. Of equally rare spellings, it
 * replaces the last in text order.
 */
export function addForm(forms: TermForm[], form: string, count: number): void {
  for (const known of forms) {
    if (known.form !== form) continue
    known.count += count
    return
  }
  if (forms.length < MAX_FORMS) {
    forms.push({ form, count })
    return
  }
  const rarest = forms.reduce((worst, known) => (comesBefore(worst, known) ? known : worst))
  forms[forms.indexOf(rarest)] = { form, count }
}

/** Returns the most common spelling. Of equally common spellings, it returns the first in text order. */
export function mostFrequentForm(forms: readonly TermForm[]): string {
  return forms.reduce((best, form) => (comesBefore(form, best) ? form : best)).form
}

function comesBefore(a: TermForm, b: TermForm): boolean {
  return a.count > b.count || (a.count === b.count && a.form < b.form)
}
