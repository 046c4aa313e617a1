import RecordStore
import StageTool

extension RecordStoreError: ErrorWithStatus {
    package var status: ToolStatus {
        switch self {
        case .inUse: .unavailable
        case .damaged, .otherVersion, .otherLog, .missingEvents, .badEvent: .badData
        case .unusable: .inputOutput
        }
    }
}

extension StoreFolderError: ErrorWithStatus {
    package var status: ToolStatus {
        switch self {
        case .noLog: .noInput
        case .trimmed: .no
        case .behind: .unavailable
        case .exists: .cannotCreate
        }
    }
}
