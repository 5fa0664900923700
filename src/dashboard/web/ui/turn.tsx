import { Button } from './parts.tsx'
/**
 * Pages through a list by cursor. `before` holds the cursors of the pages up to this one; it is empty on the first
 * page.
 */
export function Turn(props: {
  before: readonly string[]
  next: string | null | undefined
  names: readonly [back: string, on: string]
  text: string
  onTurn: (before: string[]) => void
}) {
  const { before, next } = props
  return (
    <div class="row between turn">
      <Button look="small" disabled={before.length === 0} onClick={() => props.onTurn(before.slice(0, -1))}>
        {props.names[0]}
      </Button>
      <span class="muted tiny">{props.text}</span>
      <Button look="small" disabled={!next} onClick={() => props.onTurn([...before, next ?? ''])}>
        {props.names[1]}
      </Button>
    </div>
  )
}
