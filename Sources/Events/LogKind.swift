/// Belfry's logs, in the order of the stages. The raw value is the log's standard name.
public enum LogKind: String, CaseIterable, Sendable {
    /// The commands of producers, such as changes of records.
    case changes
    /// The matches: for each change, the subscriptions that watch it.
    case matches
    /// The notifications for users, before they become pushes.
    case notifications
    /// The pushes for the users' devices.
    case pushes
    /// The outcome of each push at each device.
    case outcomes
}
