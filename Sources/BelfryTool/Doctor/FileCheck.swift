import PipelineKit

/// Whether the pipeline file is right, as `belfry validate` sees it.
struct FileCheck: DoctorCheck {
    static let name = "file"

    func findings(in patient: Patient) throws -> [Finding] {
        if patient.isFolder { return [] }
        do {
            let checked = try CheckedPipeline(path: patient.place)
            try checked.checkKeys()
            let names = checked.file.stagesInOrder.map(\.name).joined(separator: ", ")
            return [Finding(.ok, "file.valid", "\(patient.place) is valid: stages \(names)")]
        } catch let error as PipelineFileError {
            return error.errors.map(Self.finding)
        }
    }

    private static func finding(_ error: SettingsError) -> Finding {
        Finding(
            .error, "file.invalid", error.description,
            [
                "file": .text(error.file), "line": .count(error.line), "column": .count(error.column),
                "key": .text(error.keyPath),
            ])
    }
}
