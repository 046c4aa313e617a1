import LocalAPNs

extension StartError: StatedError {
    package var status: ToolStatus {
        switch self {
        case .file: .inputOutput
        case .content: .configuration
        case .address: .unavailable
        }
    }
}

extension LineError: StatedError {
    package var status: ToolStatus { .badData }
}
