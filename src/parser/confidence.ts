/**
 * How far a detail can be trusted.
 *
 * `certain`: follows from fields that consensus checks, or from a hash that was recomputed here.
 * `likely`: an exact pattern that rarely arises by accident, or a conclusion that holds if a node accepted
 * the transaction.
 * `hint`: a heuristic; it can be wrong for ordinary transactions.
 */
export type Confidence = 'certain' | 'likely' | 'hint'

const ORDER: readonly Confidence[] = ['certain', 'likely', 'hint']

/** The strongest of several pieces of evidence for the same statement. */
export function strongest(confidences: readonly Confidence[]): Confidence {
  return ORDER.find((confidence) => confidences.includes(confidence)) ?? 'hint'
}
