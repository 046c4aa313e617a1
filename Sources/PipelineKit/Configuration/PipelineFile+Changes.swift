extension PipelineFile {
    /// A copy of the pipeline that runs inside one process. Its logs are in the folder `data` and get identities from
    /// `seed`. Its links and its door become `inproc` sockets without keys. It has no lanes.
    package func inProcess(data: String, seed: String, log: LogSettings) -> PipelineFile {
        var file = withoutLanes
        (file.data, file.seed, file.log) = (data, seed, log)
        (file.hosts, file.host) = ([], nil)
        file.stages = file.stages.map { stage in stage.bound(to: "inproc://\(stage.name)") }
        return file
    }

    /// A copy of the pipeline in which one row of stages does the work of all lanes.
    package var withoutLanes: PipelineFile {
        guard lanes > 1 else { return self }
        var file = self
        (file.lanes, file.stages) = (1, stagesInFile)
        return file
    }

    /// A copy of the pipeline with another value for one setting of a stage.
    ///
    /// - Parameters:
    ///   - keys: The keys that lead to the setting, such as `window`, or `transports`, `apns`, `url`.
    ///   - text: The new value, a plain YAML scalar.
    package func setting(_ keys: [String], ofStage name: String, to text: String) -> PipelineFile {
        func changed(_ stage: PipelineStage) -> PipelineStage {
            guard [stage.name, stage.nameInFile].contains(name) else { return stage }
            return stage.with(stage.settings.setting(keys, to: text))
        }
        var file = self
        (file.stages, file.stagesInFile) = (stages.map(changed), stagesInFile.map(changed))
        return file
    }
}

extension PipelineStage {
    func bound(to endpoint: String) -> PipelineStage {
        var stage = self
        (stage.bind, stage.curve) = (endpoint, nil)
        return stage
    }

    func with(_ settings: SettingsReader) -> PipelineStage {
        var stage = self
        stage.settings = settings
        return stage
    }
}

extension SettingsReader {
    func setting(_ keys: [String], to text: String) -> SettingsReader {
        with(SettingsReader.setting(keys[...], to: text, in: nodes, place))
    }

    func with(_ entries: [SettingsNode.Entry]) -> SettingsReader {
        var reader = SettingsReader(entries: entries, file: file, folder: folder, keyPath: keyPath, place: place)
        for key in knownKeys { reader.know(key) }
        return reader
    }

    private static func setting(
        _ keys: ArraySlice<String>, to text: String, in entries: [SettingsNode.Entry], _ place: Place
    ) -> [SettingsNode.Entry] {
        guard let key = keys.first else { return entries }
        var entries = entries
        let index = entries.firstIndex { $0.key == key }
        var content = SettingsNode.Content.scalar(text, plain: true)
        if keys.count > 1 {
            var inner: [SettingsNode.Entry] = []
            if let index, case .mapping(let nested) = entries[index].value.content { inner = nested }
            content = .mapping(setting(keys.dropFirst(), to: text, in: inner, place))
        }
        let entry = SettingsNode.Entry(key: key, place: place, value: SettingsNode(content: content, place: place))
        if let index { entries[index] = entry } else { entries.append(entry) }
        return entries
    }
}
