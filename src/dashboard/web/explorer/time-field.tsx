import type { ComponentChildren } from 'preact'

/** A moment in UTC, to the second. */
export function TimeField(props: {
  label: string
  /** NaN if there is nothing to show. */
  time: number
  earliest?: number | undefined
  onChange: (time: number) => void
  children?: ComponentChildren
}) {
  const { time, earliest } = props
  return (
    <div class="row tight time-field">
      <input
        type="datetime-local"
        step="1"
        aria-label={props.label}
        value={Number.isFinite(time) ? inputTime(time) : ''}
        {...(earliest === undefined ? {} : { min: inputTime(earliest) })}
        onChange={(event) => {
          const asked = Date.parse(`${event.currentTarget.value}Z`)
          if (Number.isFinite(asked)) props.onChange(asked)
        }}
      />
      <span class="muted tiny">UTC</span>
      {props.children}
    </div>
  )
}

const inputTime = (time: number) => new Date(time).toISOString().slice(0, 19)
