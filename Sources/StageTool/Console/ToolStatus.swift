/// The exit statuses of all tools: 0 for success, 1 for a negative answer, and the statuses of sysexits(3) for
/// failures. If a signal ends a tool, the status may also be 128 plus the signal's number.
package enum ToolStatus: Int32, CaseIterable, Sendable {
    case success = 0
    case no = 1
    case usage = 64
    case badData = 65
    case noInput = 66
    case unavailable = 69
    case software = 70
    case cannotCreate = 73
    case inputOutput = 74
    case noPermission = 77
    case configuration = 78
}

/// Ends a tool with a message for its user. The message is empty if the tool has already explained the failure.
package struct ToolFailure: Error, Equatable {
    package var status: ToolStatus
    package var message: String

    package init(_ status: ToolStatus, _ message: String = "") {
        self.status = status
        self.message = message
    }
}
