/// Belfry's logs, in the order in which one is made from another. The raw value is the log's standard name.
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
