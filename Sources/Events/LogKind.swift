/// What a stage's log tells of. The cases are in the order in which one log is made from another; a log's standard name is
/// its raw value.
public enum LogKind: String, CaseIterable, Sendable {
    /// What producers sent: ``EventType/commands``.
    case changes
    /// Which subscriptions watch for a change.
    case matches
    /// Of what a user is to be told.
    case notifications
    /// What goes to a user's devices.
    case pushes
    /// What became of each push at each device.
    case outcomes
}
