import LocalAPNs

extension StartError: ErrorWithStatus {
    package var status: ToolStatus {
        switch self {
        case .file: .inputOutput
        case .missing: .noInput
        case .content: .configuration
        case .address: .unavailable
        }
    }
}

extension LineError: ErrorWithStatus {
    package var status: ToolStatus { .badData }
}
